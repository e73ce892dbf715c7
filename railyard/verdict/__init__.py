"""From evidence to verdict: path proof, rules, blame, hints."""
