"""What one server has once: supervisor, queue, history, jobs."""
