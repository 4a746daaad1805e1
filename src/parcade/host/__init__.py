"""What the machine gives: processors, and files read with care. Standard library only; every room may use it."""
