"""One `railyard run`: what is promised, ReFrame's own run, and what is settled after it."""
