/** A column of the table to sort by: one of every study, or one of its varied parameters. */
export type SortColumn =
  | { readonly kind: 'number' | 'throughput' | 'latency' | 'level' }
  | { readonly kind: 'parameter'; readonly name: string };

/** The effect of a key or a click. */
export type Command =
  | { readonly name: 'move'; readonly by: number }
  | { readonly name: 'select'; readonly trial: number }
  /** Sorts by the column so many to the right of the present one; by none: reverses the order. */
  | { readonly name: 'sort'; readonly step: number }
  /** Sorts by this column, or reverses the order by it. */
  | { readonly name: 'sort-by'; readonly column: SortColumn }
  /** Moves within a panel of parameters: to another parameter, or to another value. */
  | { readonly name: 'step'; readonly rows: number; readonly values: number }
  | { readonly name: 'page'; readonly page: 'trial' | 'help' }
  | { readonly name: 'type'; readonly text: string }
  /** A key of the table that does not work at the moment. */
  | { readonly name: 'not-now'; readonly reason: string }
  | {
      readonly name:
        | 'front'
        | 'chart'
        | 'mark'
        | 'back'
        | 'pause'
        | 'skip'
        | 'again'
        | 'withdraw'
        | 'ask-quit'
        | 'ask-filter'
        | 'accept-filter'
        | 'clear-filter'
        | 'ask-budget'
        | 'ask-space'
        | 'ask-hand'
        | 'accept-budget'
        | 'pin'
        | 'exclude'
        | 'free'
        | 'try'
        | 'stop-search'
        | 'quit'
        | 'export'
        | 'cancel'
        | 'interrupt';
    };

/**
 * The screen's relation to the run: `live` while it can be steered, `stopping` after it was told to
 * end, else `over`.
 */
export type ScreenPhase = 'live' | 'stopping' | 'over';

export type Elsewhere = 'ends' | 'goes-on';

/** What a person can do besides looking. */
export interface Abilities {
  readonly phase: ScreenPhase;
  readonly canExport: boolean;
  /** If another process conducts the study, what happens to the study when this screen closes. */
  readonly elsewhere?: Elsewhere | undefined;
}
