import type { EndpointSpec } from '../../../app/profile/profile-spec.ts';
import { TrituneError } from '../../../base/errors.ts';
import type { OptionTable } from '../../options/option-table.ts';

/** The options about how a language model is asked. */
export const endpointOptionTable: OptionTable<EndpointSpec> = {
  endpoint: {
    flags: '--endpoint <kind>',
    help: 'language model: measure its tokens. auto or openai finds out how to ask it; openai-chat, openai-completions, triton-generate (HTTP), triton-grpc (decoupled); or the path of an OpenAI call',
    offers: ['auto', 'openai', 'openai-chat', 'openai-completions', 'triton-generate', 'triton-grpc'],
  },
  extraInputs: {
    flags: '--extra-inputs <name:value...>',
    help: 'language model: a field of every request beside those that the prompt needs, such as temperature:0; the value is JSON where it can be; repeatable',
    parse: extraInput,
  },
};

type Extra = NonNullable<EndpointSpec['extraInputs']>;

function extraInput(text: string, previous: Extra | undefined): Extra {
  const at = text.indexOf(':');
  if (at < 1) {
    throw new TrituneError('USAGE', `'${text}' is no field of a request`, 'write NAME:VALUE, such as temperature:0');
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
