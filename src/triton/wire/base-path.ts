/** An HTTP address, `HOST:PORT[/BASE]`, in two parts. */
interface BasedAddress {
  /** HOST:PORT. */
  readonly address: string;
  /** What a gateway wants before each path, such as `/triton`; empty without one. */
  readonly basePath: string;
}

/** Splits the base path off an HTTP address. */
export function splitBasePath(url: string): BasedAddress {
  const at = url.indexOf('/');
  return at === -1 ? { address: url, basePath: '' } : { address: url.slice(0, at), basePath: url.slice(at) };
}
