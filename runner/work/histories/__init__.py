"""A teammate's messages: their rules, their size, how they are shortened, who it is told to be."""
