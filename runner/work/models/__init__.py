"""Model providers, one file each, imported only when used."""
