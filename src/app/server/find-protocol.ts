import { type AddressSpec, type Protocol, protocols } from '#spec/server-spec.ts';
import type { TransportSpec } from '#spec/traffic-spec.ts';
import { splitAddresses } from '#triton/wire/address-list.ts';
import { listServers, resolveAddresses, speaks } from './addresses.ts';
import { readTls } from './read-tls.ts';

/** The options about a server that is running, or is started for the run. */
interface Reached extends AddressSpec, Partial<Pick<TransportSpec, 'tensorFormat'>> {
  readonly launch?: string | undefined;
}

/** Options in which the protocol may be left to the port. */
export type AnyProtocol<O extends { readonly protocol: Protocol }> = Omit<O, 'protocol'> & {
  readonly protocol?: Protocol | undefined;
};

/**
 * Returns the options with a protocol, by one rule for all commands: the given one, that of the
 * address's scheme, HTTP for JSON tensors, else the one that the port speaks. If nothing answers,
 * and for a server that is started for the run, it is gRPC, or HTTP at port 8000. `reached`: the
 * options as the connection reads them. Errors: USAGE, INPUT_INVALID for files of headers and
 * certificates.
 */
export async function withProtocol<O extends Reached>(
  options: AnyProtocol<O>,
  reached: (options: O) => Reached = (each) => each,
): Promise<O> {
  const by = (protocol: Protocol): O => ({ ...options, protocol }) as O;
  const { url, launch } = reached(by('http'));
  const protocol = options.protocol ?? protocolInAddress(url) ?? protocolOfTensors(reached(by('http')));
  if (protocol !== undefined) return by(protocol);
  const [first] = splitAddresses(url ?? '');
  const order: readonly Protocol[] = /:8000\/*$/.test(first ?? '') ? ['http', 'grpc'] : ['grpc', 'http'];
  if (launch === undefined)
    for (const each of order) {
      const spec = reached(by(each));
      if (await speaks(resolveAddresses(listServers(spec)[0], await readTls(spec)))) return by(each);
    }
  return by(order[0] as Protocol);
}

/**
 * Options that say the protocol of a study themselves, or that name a server other than a Triton.
 */
const OTHERWISE: ReadonlySet<string> = new Set([
  ...['spec', 'resume', 'temporal', 'fleet', 'adapter', 'endpoint', 'launchCommand', 'modelAnalyzerConfig'],
]);

/** Returns the options of a study with a protocol, by the same rule. Errors: as `withProtocol`. */
export async function withStudyProtocol<O extends Partial<Reached>>(options: O): Promise<O> {
  if (Object.entries(options).some(([name, value]) => value !== undefined && OTHERWISE.has(name))) return options;
  const { protocol } = await withProtocol<Reached>(options);
  return { ...options, protocol };
}

const protocolOfTensors = ({ tensorFormat }: Reached): Protocol | undefined =>
  tensorFormat === 'json' ? 'http' : undefined;

/**
 * Returns the protocol that the scheme of an address names, or HTTP for an address with a path;
 * undefined without either.
 */
function protocolInAddress(url: string | undefined): Protocol | undefined {
  const [, name, path] = /^(?:(http|grpc)s?:\/\/)?[^/]*\/*(.*)$/.exec(url ?? '') ?? [];
  return protocols.find((protocol) => protocol === name) ?? (path ? 'http' : undefined);
}
