"""What a result must look like: schemas, and the contract with the model."""
