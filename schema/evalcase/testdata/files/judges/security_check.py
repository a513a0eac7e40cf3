print({"score": 0.5})
