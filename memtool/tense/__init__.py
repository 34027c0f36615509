"""Words and dates -> moments and spans: when something is said to hold."""
