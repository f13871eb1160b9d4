/** What is found, as it is listed. */

export interface Item {
  address: string;
  name: string;
  /** What tells it from others of the same name. */
  hint?: string;
  /** Whether it is done with a POST, by a button. */
  isPost?: true;
}

export interface Group {
  name: string;
  items: Item[];
}
