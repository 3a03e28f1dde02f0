import { data } from './data.ts';
import { documents } from './documents.ts';
import type { Parser } from './parser.ts';
import { records } from './records.ts';
import { wire } from './wire.ts';

/**
 * Every parser of what is not ours. `test/fuzz/parsers.test.ts` finds files of `src` that parse and
 * are in no parser's `sources`.
 */
export const parsers: readonly Parser[] = [...documents, ...data, ...records, ...wire];

/** Files of `src` that look like parsers, and what they read, which nobody else wrote. */
export const ours: Readonly<Record<string, string>> = {
  'app/fleet/temporal-options.ts': 'certificates and keys, which Node parses',
  'app/server/read-tls.ts': 'certificates and keys, which Node parses',
  'base/package.ts': "the package's own manifest",
  'base/read-file.ts': 'bytes, which it does not parse',
  'base/run-files.ts': 'bytes, which it compares',
  'cli/commands/profile/endpoint-options.ts': 'an option of the user, JSON or not',
  'cli/commands/run-mcp.ts': 'JSON that a command of ours wrote',
  'cli/options/filled-rows.ts': 'a 0, to see whether an option may be it',
  'app/traffic/http-content.ts': 'a body that is sent as it is',
  'fleet/temporal/workflow-bundle.ts': "the bundle's own manifest",
  'launch/supervise.ts': "the kernel's list of a process's memory",
  'launch/triton-install.ts': 'the marker of an installation, and what its own Python says',
  'loadgen/client/host-cpu.ts': "the kernel's counters",
  'loadgen/client/null-server-thread.ts': "this process's own requests",
  'loadgen/shared-memory/owner.ts': "the kernel's state of a process",
  'report/page/assets.ts': "the package's own page",
  'space/shape.ts': 'JSON that it wrote itself',
  'study/records/run-key.ts': 'random bytes',
  'adapter/triton/sent-requests.ts': "the user's own notes, of which others count as none",
};
