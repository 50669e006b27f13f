"""Agent definitions: reading, finding and merging them."""
