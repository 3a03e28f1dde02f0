import type { HeaderSpec } from '#spec/server-spec.ts';
import { type OptionTable, under } from './option-table.ts';
import { collect } from './option-values.ts';

// Values are read later: the option parser would print a faulty value.
export const headerOptionTable: OptionTable<HeaderSpec> = under<HeaderSpec>('Headers and tokens', {
  header: {
    flags: '-H, --header <name:value>',
    help: 'HTTP header or gRPC metadata of every request and control call; repeatable. Other users of this machine can see it in the process list',
    parse: collect,
  },
  headerEnv: {
    flags: '--header-env <name:variable>',
    help: 'Header whose value is in an environment variable; repeatable',
    parse: collect,
  },
  headerFile: {
    flags: '--header-file <file>',
    help: 'File of headers, NAME: VALUE on each line; repeatable',
    parse: collect,
  },
  tokenEnv: { flags: '--token-env <variable>', help: 'Environment variable with a bearer token' },
  tokenFile: { flags: '--token-file <file>', help: 'File with a bearer token' },
});
