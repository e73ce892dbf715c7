"""What each benchmark measures and moves, and the inputs and checks of applications."""
