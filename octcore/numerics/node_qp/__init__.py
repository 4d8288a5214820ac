"""The support vector machine of one branch node, solved warm by an active set."""
