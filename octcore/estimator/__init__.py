"""Optimal trees as scikit-learn classifiers; a thin coat over `octcore.solve`.

`OptimalTreeClassifier` takes any formulation.  For every formulation there is also a class of its
own, such as `FlowOCTClassifier`, whose constructor lists the hyperparameters of the declaration.
"""
