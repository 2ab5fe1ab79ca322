"""Problems and solutions as files."""
