"""What agents wrote since a person last looked -> what became of it, and what a person rules."""
