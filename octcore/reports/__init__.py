"""Tables a person compares."""
