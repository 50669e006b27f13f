"""What an attempt leaves on disk, and how a later one goes on from there."""
