"""Tables: reading, typing and checking them, and the sample sets."""
