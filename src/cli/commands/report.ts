import { Command, Option } from 'commander';
import { foldStudy } from '#study/records/fold.ts';
import type { Terminal } from '../terminal.ts';

/**
 * `tritune report DIR`: rewrites the documents of a study from its journal, or shows it. Needs no
 * server.
 */
export function reportCommand(terminal: Terminal): Command {
  return new Command('report')
    .description('Write the report of a study again from its journal, or browse the study')
    .argument('<directory>', 'Output directory of a run')
    .addOption(
      new Option('--ui <screen>', 'What to do: lines writes the files and lists them, tui shows the study')
        .choices(['lines', 'tui'])
        .default('lines'),
    )
    .option('--plots', 'Also write the charts as SVG and PNG files to DIRECTORY/plots')
    .action(async (directory: string, { ui, plots }: { readonly ui: 'lines' | 'tui'; readonly plots?: true }) => {
      const { writeAllDocuments, writeAllPlots } = await import('#app/run-documents.ts');
      if (ui === 'tui') return browseStudy(directory, terminal);
      for (const { files } of await writeAllDocuments(directory)) {
        for (const file of Object.values(files)) if (file !== null) terminal.print(file);
      }
      for (const file of plots ? await writeAllPlots(directory) : []) terminal.print(file);
    });
}

/**
 * Shows a study, finished or not, on the terminal. Errors: JOURNAL_INVALID, USAGE without a
 * terminal or for a series.
 */
async function browseStudy(directory: string, terminal: Terminal): Promise<void> {
  const { exportConfig, recordsIn } = await import('#app/run-documents.ts');
  const { browse } = await import('./tune/screen.ts');
  const records = await recordsIn(directory);
  const { model } = foldStudy(records).started;
  await browse(terminal, { earlier: records, exportConfig: (trial) => exportConfig(directory, model, trial) });
}
