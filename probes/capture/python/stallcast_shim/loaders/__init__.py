"""Loaders that are not torch's, an adapter each.

    passes     passes and waits of any of them
    adapters   what the adapters share: where a pull counts
    counting   samples of a batch of theirs
    tfdata     tf.data, where Python pulls its batches
    tfdata_length  elements of a data set, asked without making a tensor
    keras      Model.fit of Keras on TensorFlow: lets Python pull
    keras_jax  Model.fit of Keras on JAX: PyDatasets and arrays
    dali       DALI's iterators
    dali_dynamic   epochs of readers in DALI's dynamic mode
    grain      Grain's DataLoader, IterDataset and MapDataset
    datasets_iter  Hugging Face's datasets, iterated by the loop itself
    nodes      torchdata.nodes' Loader
    spdl       SPDL's pipelines
    ray_data   Ray Data's batches, and clusters whose workers nobody sees
    graphs     PyG's and DGL's: torch's, with work of their own behind it
"""
