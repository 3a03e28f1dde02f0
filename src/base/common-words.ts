/**
 * English words that are a single token after a space in the vocabularies of GPT-2, p50k_base,
 * cl100k_base and o200k_base (checked with js-tiktoken 1.0.21), and so in most others.
 */
export const commonWords: readonly string[] =
  `about across again air alone also among answer around ask away ball base because bed begin believe best
  between bird board body both box bread bridge broad burn buy came can captain care case cause center
  certain change chart chief choose circle class clear clock clothes coast color common compare control cool
  corn correct cotton count course cow crowd current dance day deal decide degree desert develop differ
  direct doctor dollar double draw dress drive dry each earth eat effect eight else engine enter even event
  every example expect face fall famous farm father fear feel few fight fill find finger fire fish five floor
  flower follow foot foreign form four fresh from fruit fun garden gather gentle give glass good grand green
  group guess half happen hard hear heat help high history hold home horse hour huge hundred hurry idea
  include invent island join jump keep king know lake large late law lead least left length letter lie lift
  like liquid listen live locate look lot love machine magnet major man map market master matter measure meet
  metal middle mile million mine miss modern month more most motion move music name nature neck never next
  nine noon nose nothing noun object ocean office oil once only operate organ out own page pair parent party
  past pattern people period phrase picture pitch plain planet play plural poor pound prepare press print
  process product protect provide push quart quiet radio rain ran rather read real receive red repeat require
  result ride ring river rock room rope round rub run sail same save scale science sea season second see seem
  select sell sense set seven shape sharp shell ship shop short shout side sign silver simple sing sister six
  skill sky slip small smile soft soldier some song sound space special speed spend spot spring stand start
  station steam step still stop story stream stretch strong study success sudden sugar suit sun support
  surface symbol table take tall team tell term than that them there thick thing third those thought three
  throw tie tiny told tool total toward track train tree trouble true tube twenty type unit usual value verb
  view visit vowel walk want warm watch wave wear week well west wheel where which whose wide wild win window
  winter wish woman wood work would wrong year yes young`.split(/\s+/);
