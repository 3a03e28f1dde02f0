import { TrituneError } from '#base/errors.ts';
import { languageEndpoints } from '#spec/language-spec.ts';
import type { EndpointSpec } from '#spec/profile-spec.ts';
import { type OptionTable, under } from '../../options/option-table.ts';

/** The options for asking a language model. */
export const endpointOptionTable: OptionTable<EndpointSpec> = under<EndpointSpec>('Language models', {
  endpoint: {
    flags: '--endpoint <kind>',
    help: 'API of a model that takes texts: auto, openai, openai-chat, openai-completions, openai-responses, anthropic-messages, triton-generate (HTTP), triton-grpc (decoupled), the path of an OpenAI call, embeddings, rerank or classify',
    offers: languageEndpoints,
  },
  extraInputs: {
    flags: '--extra-inputs <name:value...>',
    help: 'Extra field of every request, such as temperature:0; repeatable',
    parse: extraInput,
  },
});

type Extra = NonNullable<EndpointSpec['extraInputs']>;

function extraInput(text: string, previous: Extra | undefined): Extra {
  const at = text.indexOf(':');
  if (at < 1) {
    throw new TrituneError('USAGE', `'${text}' is not a field of a request`, 'write NAME:VALUE, such as temperature:0');
  }
  return { ...previous, [text.slice(0, at)]: jsonOrText(text.slice(at + 1)) };
}

function jsonOrText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
