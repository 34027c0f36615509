"""What a note rests on -> whether it has moved."""
