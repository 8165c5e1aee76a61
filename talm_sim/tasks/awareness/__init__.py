"""Task `awareness`: can the model tell that it can't?"""
