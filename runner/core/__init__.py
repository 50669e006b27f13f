"""What everything stands on: time, files, names, the journal, settings, logs."""
