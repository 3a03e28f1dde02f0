import type { GoodputSpec, LanguageServerSpec } from '#spec/language-spec.ts';
import { goodputLimits } from './goodput.ts';
import { type OptionTable, under } from './option-table.ts';
import { collectSettings } from './option-values.ts';

type LanguageOptions = LanguageServerSpec & { readonly goodput?: GoodputSpec };

/** The options for serving and asking a language model in a study. */
export const languageOptionTable: OptionTable<LanguageOptions> = under<LanguageOptions>('Language models', {
  endpoint: {
    flags: '--endpoint <kind>',
    help: 'Tune a language model by its tokens: an openai… endpoint with --launch-command, or a model of a Triton',
  },
  launchCommand: {
    flags: '--launch-command <line>',
    help: "Command that starts the server of each candidate, such as 'vllm serve MODEL --port {port} {flags}' (docs/language-models.md)",
  },
  original: {
    flags: '--original <name=value,…>',
    help: 'Settings that the launch command starts with before the study, such as workers=1,batch=8',
    parse: collectSettings,
  },
  engineSettings: {
    flags: '--engine-settings <file>',
    help: "The model.json of Triton's vLLM backend",
  },
  goodput: {
    flags: '--goodput <limits>',
    heading: 'Goal',
    help: "Maximise the requests per second that keep these limits, such as e2e<=50ms or 'ttft<=200ms itl<=20ms e2e<=5s'; repeatable",
    parse: goodputLimits,
  },
});
