import type { KnownBudget } from '../problem.ts';

/** The optima of the made-up pipelines within each budget, as long searches over the truth found them: written by bench/pipeline-optima.ts. */
export const optima: Readonly<Record<string, readonly KnownBudget[]>> = {
  'pipeline 0 (chain, two stages on one GPU)': [
    {"tightness":"tight","budgetMs":22.8,"optimum":405.113417114379,"assignment":{"tokenizer/max_batch_size":1,"tokenizer/instances":4,"encoder/max_batch_size":4,"encoder/queue_delay_us":4000,"encoder/instances":1,"head/max_batch_size":4,"head/queue_delay_us":1000,"head/instances":2},"level":8},
    {"tightness":"middle","budgetMs":47.7,"optimum":928.6377412195378,"assignment":{"tokenizer/max_batch_size":1,"tokenizer/instances":6,"encoder/max_batch_size":16,"encoder/queue_delay_us":0,"encoder/instances":1,"head/max_batch_size":16,"head/queue_delay_us":1000,"head/instances":2},"level":32},
    {"tightness":"loose","budgetMs":113,"optimum":1486.3048643813952,"assignment":{"tokenizer/max_batch_size":4,"tokenizer/queue_delay_us":0,"tokenizer/instances":6,"encoder/max_batch_size":32,"encoder/queue_delay_us":0,"encoder/instances":2,"head/max_batch_size":32,"head/queue_delay_us":4000,"head/instances":3},"level":128},
  ],
  'pipeline 1 (chain on shared cores)': [
    {"tightness":"tight","budgetMs":24.4,"optimum":783.4424598797096,"assignment":{"decode/max_batch_size":1,"decode/instances":6,"features/max_batch_size":8,"features/queue_delay_us":4000,"features/instances":1,"score/max_batch_size":8,"score/queue_delay_us":4000,"score/instances":4},"level":16},
    {"tightness":"middle","budgetMs":48.7,"optimum":1152.9735172437656,"assignment":{"decode/max_batch_size":1,"decode/instances":6,"features/max_batch_size":8,"features/queue_delay_us":0,"features/instances":2,"score/max_batch_size":16,"score/queue_delay_us":4000,"score/instances":4},"level":48},
    {"tightness":"loose","budgetMs":109,"optimum":1606.3313160578225,"assignment":{"decode/max_batch_size":4,"decode/queue_delay_us":0,"decode/instances":6,"features/max_batch_size":32,"features/queue_delay_us":0,"features/instances":2,"score/max_batch_size":32,"score/queue_delay_us":1000,"score/instances":4},"level":128},
  ],
  'pipeline 2 (parallel branches)': [
    {"tightness":"tight","budgetMs":24.3,"optimum":263.33552911744005,"assignment":{"decode/max_batch_size":8,"decode/queue_delay_us":0,"decode/instances":4,"classify/max_batch_size":4,"classify/queue_delay_us":1000,"classify/instances":1,"read/max_batch_size":4,"read/queue_delay_us":1000,"read/instances":1,"merge/max_batch_size":4,"merge/queue_delay_us":0,"merge/instances":4},"level":4},
    {"tightness":"middle","budgetMs":47.2,"optimum":1187.244094525721,"assignment":{"decode/max_batch_size":1,"decode/instances":6,"classify/max_batch_size":32,"classify/queue_delay_us":0,"classify/instances":1,"read/max_batch_size":16,"read/queue_delay_us":0,"read/instances":1,"merge/max_batch_size":4,"merge/queue_delay_us":4000,"merge/instances":4},"level":48},
    {"tightness":"loose","budgetMs":102,"optimum":1527.2235637748015,"assignment":{"decode/max_batch_size":1,"decode/instances":6,"classify/max_batch_size":32,"classify/queue_delay_us":0,"classify/instances":2,"read/max_batch_size":32,"read/queue_delay_us":1000,"read/instances":1,"merge/max_batch_size":4,"merge/queue_delay_us":1000,"merge/instances":3},"level":128},
  ],
  'pipeline 3 (nested, each on its own)': [
    {"tightness":"tight","budgetMs":32,"optimum":859.6272944127093,"assignment":{"split/max_batch_size":1,"split/instances":4,"encode/max_batch_size":32,"encode/queue_delay_us":4000,"encode/instances":3,"pool/max_batch_size":8,"pool/queue_delay_us":0,"pool/instances":3},"level":24},
    {"tightness":"middle","budgetMs":68.1,"optimum":923.5906270822627,"assignment":{"split/max_batch_size":4,"split/queue_delay_us":0,"split/instances":4,"encode/max_batch_size":16,"encode/queue_delay_us":4000,"encode/instances":3,"pool/max_batch_size":8,"pool/queue_delay_us":0,"pool/instances":4},"level":48},
    {"tightness":"loose","budgetMs":164,"optimum":939.7383068000373,"assignment":{"split/max_batch_size":8,"split/queue_delay_us":1000,"split/instances":4,"encode/max_batch_size":16,"encode/queue_delay_us":1000,"encode/instances":2,"pool/max_batch_size":4,"pool/queue_delay_us":1000,"pool/instances":6},"level":64},
  ],
  'pipeline 4 (BLS, calls in turn)': [
    {"tightness":"tight","budgetMs":14.7,"optimum":655.6317617787288,"assignment":{"front/max_batch_size":1,"front/instances":8,"find/max_batch_size":4,"find/queue_delay_us":1000,"find/instances":1,"name/max_batch_size":4,"name/queue_delay_us":1000,"name/instances":1},"level":8},
    {"tightness":"middle","budgetMs":29.7,"optimum":816.7354709943578,"assignment":{"front/max_batch_size":1,"front/instances":12,"find/max_batch_size":32,"find/queue_delay_us":1000,"find/instances":1,"name/max_batch_size":32,"name/queue_delay_us":1000,"name/instances":1},"level":12},
    {"tightness":"loose","budgetMs":67.4,"optimum":828.5224920805169,"assignment":{"front/max_batch_size":1,"front/instances":12,"find/max_batch_size":32,"find/queue_delay_us":1000,"find/instances":1,"name/max_batch_size":32,"name/queue_delay_us":1000,"name/instances":1},"level":32},
  ],
  'pipeline 5 (BLS, calls at once)': [
    {"tightness":"tight","budgetMs":24.2,"optimum":880.00804859379,"assignment":{"front/max_batch_size":4,"front/queue_delay_us":4000,"front/instances":4,"rank/max_batch_size":16,"rank/queue_delay_us":1000,"rank/instances":4},"level":16},
    {"tightness":"middle","budgetMs":49.9,"optimum":1200.7914833597831,"assignment":{"front/max_batch_size":4,"front/queue_delay_us":1000,"front/instances":12,"rank/max_batch_size":16,"rank/queue_delay_us":4000,"rank/instances":6},"level":48},
    {"tightness":"loose","budgetMs":116,"optimum":1207.5028362683192,"assignment":{"front/max_batch_size":4,"front/queue_delay_us":0,"front/instances":12,"rank/max_batch_size":16,"rank/queue_delay_us":1000,"rank/instances":6},"level":64},
  ],
  'pipeline 6 (two tenants on one GPU)': [
    {"tightness":"tight","budgetMs":22.8,"optimum":848.9008995351262,"assignment":{"detector/max_batch_size":4,"detector/queue_delay_us":4000,"detector/instances":4,"forecaster/max_batch_size":4,"forecaster/queue_delay_us":1000,"forecaster/instances":1},"level":12},
    {"tightness":"middle","budgetMs":51.2,"optimum":3282.3808463186033,"assignment":{"detector/max_batch_size":32,"detector/queue_delay_us":4000,"detector/instances":4,"forecaster/max_batch_size":16,"forecaster/queue_delay_us":1000,"forecaster/instances":1},"level":48},
    {"tightness":"loose","budgetMs":131,"optimum":5180.121709467633,"assignment":{"detector/max_batch_size":32,"detector/queue_delay_us":0,"detector/instances":1,"forecaster/max_batch_size":32,"forecaster/queue_delay_us":1000,"forecaster/instances":1},"level":96},
  ],
  'pipeline 7 (three tenants with a budget of memory)': [
    {"tightness":"tight","budgetMs":24.2,"optimum":1193.079145468455,"assignment":{"large/max_batch_size":16,"large/queue_delay_us":4000,"large/instances":1,"small/max_batch_size":4,"small/queue_delay_us":1000,"small/instances":3,"plain/max_batch_size":8,"plain/queue_delay_us":0,"plain/instances":2},"level":12},
    {"tightness":"middle","budgetMs":56.8,"optimum":2858.9444323670855,"assignment":{"large/max_batch_size":32,"large/queue_delay_us":4000,"large/instances":1,"small/max_batch_size":16,"small/queue_delay_us":1000,"small/instances":1,"plain/max_batch_size":8,"plain/queue_delay_us":1000,"plain/instances":1},"level":48},
    {"tightness":"loose","budgetMs":154,"optimum":4744.321770040688,"assignment":{"large/max_batch_size":32,"large/queue_delay_us":4000,"large/instances":1,"small/max_batch_size":32,"small/queue_delay_us":1000,"small/instances":3,"plain/max_batch_size":8,"plain/queue_delay_us":0,"plain/instances":1},"level":96},
  ],
  'pipeline 8 (chain, two stages on one GPU)': [
    {"tightness":"tight","budgetMs":25.5,"optimum":280.3705866693362,"assignment":{"tokenizer/max_batch_size":1,"tokenizer/instances":3,"encoder/max_batch_size":8,"encoder/queue_delay_us":4000,"encoder/instances":1,"head/max_batch_size":4,"head/queue_delay_us":1000,"head/instances":2},"level":6},
    {"tightness":"middle","budgetMs":52.2,"optimum":849.7474864327614,"assignment":{"tokenizer/max_batch_size":1,"tokenizer/instances":3,"encoder/max_batch_size":32,"encoder/queue_delay_us":0,"encoder/instances":1,"head/max_batch_size":16,"head/queue_delay_us":1000,"head/instances":1},"level":32},
    {"tightness":"loose","budgetMs":121,"optimum":1425.6596502294728,"assignment":{"tokenizer/max_batch_size":4,"tokenizer/queue_delay_us":1000,"tokenizer/instances":3,"encoder/max_batch_size":32,"encoder/queue_delay_us":0,"encoder/instances":2,"head/max_batch_size":32,"head/queue_delay_us":4000,"head/instances":4},"level":128},
  ],
  'pipeline 9 (chain on shared cores)': [
    {"tightness":"tight","budgetMs":31.6,"optimum":285.9839636803718,"assignment":{"decode/max_batch_size":4,"decode/queue_delay_us":0,"decode/instances":4,"features/max_batch_size":16,"features/queue_delay_us":0,"features/instances":1,"score/max_batch_size":16,"score/queue_delay_us":1000,"score/instances":2},"level":8},
    {"tightness":"middle","budgetMs":68.8,"optimum":538.0819502725424,"assignment":{"decode/max_batch_size":1,"decode/instances":6,"features/max_batch_size":16,"features/queue_delay_us":0,"features/instances":1,"score/max_batch_size":16,"score/queue_delay_us":1000,"score/instances":1},"level":32},
    {"tightness":"loose","budgetMs":171,"optimum":593.2643976806065,"assignment":{"decode/max_batch_size":4,"decode/queue_delay_us":0,"decode/instances":6,"features/max_batch_size":16,"features/queue_delay_us":0,"features/instances":1,"score/max_batch_size":16,"score/queue_delay_us":1000,"score/instances":1},"level":64},
  ],
  'pipeline 10 (parallel branches)': [
    {"tightness":"tight","budgetMs":35.5,"optimum":167.37681124329063,"assignment":{"decode/max_batch_size":4,"decode/queue_delay_us":0,"decode/instances":3,"classify/max_batch_size":4,"classify/queue_delay_us":4000,"classify/instances":1,"read/max_batch_size":4,"read/queue_delay_us":4000,"read/instances":2,"merge/max_batch_size":1,"merge/instances":2},"level":4},
    {"tightness":"middle","budgetMs":76.5,"optimum":485.83530687019277,"assignment":{"decode/max_batch_size":1,"decode/instances":3,"classify/max_batch_size":8,"classify/queue_delay_us":0,"classify/instances":2,"read/max_batch_size":32,"read/queue_delay_us":4000,"read/instances":1,"merge/max_batch_size":4,"merge/queue_delay_us":0,"merge/instances":3},"level":32},
    {"tightness":"loose","budgetMs":187,"optimum":718.6931193508176,"assignment":{"decode/max_batch_size":8,"decode/queue_delay_us":0,"decode/instances":2,"classify/max_batch_size":32,"classify/queue_delay_us":0,"classify/instances":2,"read/max_batch_size":16,"read/queue_delay_us":0,"read/instances":1,"merge/max_batch_size":1,"merge/instances":4},"level":96},
  ],
  'pipeline 11 (nested, each on its own)': [
    {"tightness":"tight","budgetMs":24.5,"optimum":637.3703006833082,"assignment":{"split/max_batch_size":4,"split/queue_delay_us":0,"split/instances":4,"encode/max_batch_size":4,"encode/queue_delay_us":0,"encode/instances":6,"pool/max_batch_size":8,"pool/queue_delay_us":0,"pool/instances":1},"level":12},
    {"tightness":"middle","budgetMs":42.8,"optimum":1403.1733139920723,"assignment":{"split/max_batch_size":4,"split/queue_delay_us":1000,"split/instances":4,"encode/max_batch_size":8,"encode/queue_delay_us":1000,"encode/instances":4,"pool/max_batch_size":32,"pool/queue_delay_us":4000,"pool/instances":4},"level":48},
    {"tightness":"loose","budgetMs":82,"optimum":1429.055006478591,"assignment":{"split/max_batch_size":8,"split/queue_delay_us":0,"split/instances":4,"encode/max_batch_size":4,"encode/queue_delay_us":4000,"encode/instances":6,"pool/max_batch_size":8,"pool/queue_delay_us":0,"pool/instances":3},"level":64},
  ],
  'pipeline 12 (BLS, calls in turn)': [
    {"tightness":"tight","budgetMs":13.5,"optimum":733.4274023745913,"assignment":{"front/max_batch_size":1,"front/instances":8,"find/max_batch_size":8,"find/queue_delay_us":4000,"find/instances":1,"name/max_batch_size":8,"name/queue_delay_us":1000,"name/instances":1},"level":8},
    {"tightness":"middle","budgetMs":21.4,"optimum":796.6768110946466,"assignment":{"front/max_batch_size":1,"front/instances":12,"find/max_batch_size":32,"find/queue_delay_us":4000,"find/instances":1,"name/max_batch_size":16,"name/queue_delay_us":0,"name/instances":1},"level":12},
    {"tightness":"loose","budgetMs":36.6,"optimum":776.1780514696621,"assignment":{"front/max_batch_size":1,"front/instances":8,"find/max_batch_size":8,"find/queue_delay_us":4000,"find/instances":1,"name/max_batch_size":8,"name/queue_delay_us":1000,"name/instances":1},"level":24},
  ],
  'pipeline 13 (BLS, calls at once)': [
    {"tightness":"tight","budgetMs":13.6,"optimum":1586.6667924092092,"assignment":{"front/max_batch_size":4,"front/queue_delay_us":4000,"front/instances":4,"rank/max_batch_size":16,"rank/queue_delay_us":1000,"rank/instances":4},"level":16},
    {"tightness":"middle","budgetMs":19.1,"optimum":2030.1383843391854,"assignment":{"front/max_batch_size":4,"front/queue_delay_us":1000,"front/instances":12,"rank/max_batch_size":16,"rank/queue_delay_us":0,"rank/instances":4},"level":32},
    {"tightness":"loose","budgetMs":28.4,"optimum":2136.970947462248,"assignment":{"front/max_batch_size":4,"front/queue_delay_us":1000,"front/instances":12,"rank/max_batch_size":16,"rank/queue_delay_us":4000,"rank/instances":6},"level":48},
  ],
  'pipeline 14 (two tenants on one GPU)': [
    {"tightness":"tight","budgetMs":27.3,"optimum":603.7409960206845,"assignment":{"detector/max_batch_size":32,"detector/queue_delay_us":1000,"detector/instances":6,"forecaster/max_batch_size":32,"forecaster/queue_delay_us":1000,"forecaster/instances":6},"level":12},
    {"tightness":"middle","budgetMs":51.3,"optimum":1151.4778558185726,"assignment":{"detector/max_batch_size":32,"detector/queue_delay_us":1000,"detector/instances":6,"forecaster/max_batch_size":8,"forecaster/queue_delay_us":1000,"forecaster/instances":6},"level":32},
    {"tightness":"loose","budgetMs":107,"optimum":2190.305202476523,"assignment":{"detector/max_batch_size":32,"detector/queue_delay_us":1000,"detector/instances":6,"forecaster/max_batch_size":32,"forecaster/queue_delay_us":1000,"forecaster/instances":6},"level":128},
  ],
  'pipeline 15 (three tenants with a budget of memory)': [
    {"tightness":"tight","budgetMs":39.6,"optimum":1276.2330127415194,"assignment":{"large/max_batch_size":8,"large/queue_delay_us":1000,"large/instances":1,"small/max_batch_size":16,"small/queue_delay_us":1000,"small/instances":3,"plain/max_batch_size":8,"plain/queue_delay_us":0,"plain/instances":4},"level":12},
    {"tightness":"middle","budgetMs":87.5,"optimum":2215.3383660876634,"assignment":{"large/max_batch_size":32,"large/queue_delay_us":4000,"large/instances":2,"small/max_batch_size":16,"small/queue_delay_us":4000,"small/instances":4,"plain/max_batch_size":8,"plain/queue_delay_us":0,"plain/instances":2},"level":48},
    {"tightness":"loose","budgetMs":220,"optimum":3949.089690072882,"assignment":{"large/max_batch_size":32,"large/queue_delay_us":4000,"large/instances":3,"small/max_batch_size":32,"small/queue_delay_us":4000,"small/instances":4,"plain/max_batch_size":8,"plain/queue_delay_us":1000,"plain/instances":2},"level":192},
  ],
};
