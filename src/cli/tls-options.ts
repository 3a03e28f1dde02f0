import { type HeaderFlags, hasCredentials } from './header-options.ts';
import type { OptionTable } from './option-table.ts';
import { tlsInAddress } from './option-values.ts';
import type { Terminal } from './terminal.ts';

/** How to speak TLS with a server. Files are named, never their contents: these options are written to the journal. */
export interface TlsFlags {
  readonly tls?: boolean;
  readonly tlsCa?: string;
  readonly tlsCert?: string;
  readonly tlsKey?: string;
  readonly tlsServerName?: string;
  readonly tlsInsecure?: boolean;
}

export const tlsOptionTable: OptionTable<TlsFlags> = {
  tls: { flags: '--tls', help: 'speak TLS with the server, as do https:// and grpcs:// before its address' },
  tlsCa: { flags: '--tls-ca <file>', help: "PEM file with the CA that signed the server's certificate" },
  tlsCert: { flags: '--tls-cert <file>', help: 'PEM file with our certificate, for a server that asks for one' },
  tlsKey: { flags: '--tls-key <file>', help: 'PEM file with the key of --tls-cert' },
  tlsServerName: {
    flags: '--tls-server-name <name>',
    help: "the name in the server's certificate, where it is not the address's",
  },
  tlsInsecure: { flags: '--tls-insecure', help: "do not verify the server's certificate" },
};

export const tlsFlagNames = Object.keys(tlsOptionTable) as (keyof TlsFlags)[];

/** True when any option speaks of TLS. */
export const wantsTls = (flags: TlsFlags): boolean => tlsFlagNames.some((name) => flags[name] !== undefined);

/** Says what a person must know of `--tls-insecure`, and of a token that goes over a network for all to read. */
export function warnIfInsecure(
  flags: TlsFlags & HeaderFlags & { readonly url?: string | undefined },
  terminal: Pick<Terminal, 'tell'>,
): void {
  const isPlain = !(tlsInAddress(flags.url) ?? wantsTls(flags));
  if (isPlain && !isLoopback(flags.url ?? 'localhost') && hasCredentials(flags)) {
    terminal.tell('the token goes to the server in plaintext: who is on the way can read it (--tls, or https://)');
  }
  if (flags.tlsInsecure) terminal.tell("the server's certificate is not verified (--tls-insecure): it may be anyone's");
}

const isLoopback = (url: string): boolean =>
  /^(?:\w+:\/\/)?(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?:[:/]|$)/.test(url);
