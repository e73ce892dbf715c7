"""Sick parts: what failed tests blame, over all stored runs, as a list for programs, a ticket, a drain command."""
