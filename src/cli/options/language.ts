import { type GoodputSpec, type LanguageServerSpec, languageEndpoints } from '../../spec/language-spec.ts';
import { goodputLimits } from './goodput.ts';
import type { OptionTable } from './option-table.ts';

/** The options of a study about how a language model is served and asked. */
export const languageOptionTable: OptionTable<LanguageServerSpec & { readonly goodput?: GoodputSpec }> = {
  endpoint: {
    flags: '--endpoint <kind>',
    help: 'the model is a language model, measured by its tokens: openai (with --launch-command), triton-generate or triton-grpc (a decoupled model of a Triton)',
    choices: languageEndpoints,
  },
  launchCommand: {
    flags: '--launch-command <line>',
    help: "starts a server of a language model, once for each candidate: 'vllm serve MODEL --port {port} {flags}' (docs/language-models.md)",
  },
  engineSettings: {
    flags: '--engine-settings <file>',
    help: "the model.json that Triton's vLLM backend serves the model with; it cannot be read from the server",
  },
  goodput: {
    flags: '--goodput <limits>',
    help: "what a request must keep, such as e2e<=50ms, or of a language model 'ttft<=200ms itl<=20ms e2e<=5s': the requests per second that do are the objective; repeatable",
    parse: goodputLimits,
  },
};
