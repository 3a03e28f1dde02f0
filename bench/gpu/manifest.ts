/** The contents of the archive, in `manifest.json`. */
export interface Manifest {
  /** As 3.12: the Python that is carried, and that PyTorch must be installed for. */
  readonly python: string;
  readonly triton: string;
  readonly node: string;
}
