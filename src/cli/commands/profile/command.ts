import type { Command } from 'commander';
import { addExamples, type Example } from '../../help.ts';
import type { Terminal } from '../../terminal.ts';
import { AbbreviatingCommand } from './abbreviations.ts';
import { addServiceOptions, type ProfileFlags } from './any-service.ts';

const examples: readonly Example[] = [
  [
    'Sweep the concurrency over gRPC',
    'tritune profile -m resnet -u gpu-box:8001 -i grpc --concurrency-range 1:64:8 -f levels.csv',
  ],
  [
    'Measure a language model behind an OpenAI API',
    'tritune profile -m llama -u gpu-box:8000 --endpoint openai --concurrency-range 8',
  ],
  [
    'Send 200 requests per second to any URL',
    'tritune profile --service-kind http -u http://host:8080/predict --request-rate-range 200',
  ],
];

/** `tritune profile`: the load generator alone. */
export function profileCommand(terminal: Terminal): Command {
  const command = new AbbreviatingCommand('profile').description(
    "Measure a model as it is, with perf_analyzer's options; also a language model or any URL",
  );
  addExamples(command, examples, "perf_analyzer's other options are accepted too; docs/profile.md lists them.");
  const readService = addServiceOptions(command);
  return command.action(async (flags: ProfileFlags) => {
    const { kind, options } = await readService(flags);
    const { toExitCode, runProfile } = await import('./run.ts');
    process.exitCode = toExitCode(await runProfile(kind, options, terminal, false));
  });
}
