import { type PlainHttpOptions, runPlainHttp } from '../src/cli/commands/profile/http.ts';
import { processTerminal } from '../src/cli/terminal.ts';

/**
 * Our plain-HTTP mode alone in a process, with its options as JSON, so that its CPU time is all its own:
 *
 *   node bench/http-load.ts '{ "url": …, "concurrencyRange": { "start": 64, "end": 64 }, "requestTimeout": 10 }'
 */
process.exitCode = await runPlainHttp(JSON.parse(process.argv[2] as string) as PlainHttpOptions, processTerminal);
