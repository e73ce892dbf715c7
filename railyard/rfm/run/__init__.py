"""One `railyard run`: what it promises, ReFrame's own run, and the final records after it."""
