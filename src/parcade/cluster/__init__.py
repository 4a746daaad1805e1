"""The same training on a Ray cluster: learners are actors on its nodes, and exchange gradients over gloo."""
