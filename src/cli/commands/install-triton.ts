import { Command } from 'commander';
import { defaultInstallDirectory, installTriton, TRITON_WHEEL_VERSION } from '#launch/triton-install.ts';
import { addOptions, type OptionTable } from '../options/option-table.ts';
import { collect } from '../options/option-values.ts';
import type { Terminal } from '../terminal.ts';

interface InstallCommandOptions {
  readonly dir?: string;
  readonly python?: string;
  readonly with?: readonly string[];
}

const table: OptionTable<InstallCommandOptions> = {
  dir: { flags: '--dir <directory>', help: `Directory to install into (default: ${defaultInstallDirectory()})` },
  python: { flags: '--python <interpreter>', help: 'Python 3.8 to 3.13 with its shared library (default: python3)' },
  with: { flags: '--with <requirement>', help: 'PyPI package that your models import; repeatable', parse: collect },
};

/** `tritune install-triton`: fetches the server that `--launch local` starts. */
export function installCommand(terminal: Terminal): Command {
  const command = new Command('install-triton').description(
    `Install Triton ${TRITON_WHEEL_VERSION} with the Python backend from PyPI, for --launch local (Linux x86-64)`,
  );
  return addOptions(command, table).action(async (options: InstallCommandOptions) => {
    const install = await installTriton({
      ...(options.dir !== undefined && { directory: options.dir }),
      ...(options.python !== undefined && { python: options.python }),
      packages: options.with ?? [],
      onStep: terminal.tell,
    });
    terminal.print(`Triton ${TRITON_WHEEL_VERSION} is in ${install.directory}`);
  });
}
