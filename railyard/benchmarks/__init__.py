"""What each benchmark measures and moves, with the inputs and checks of applications."""
