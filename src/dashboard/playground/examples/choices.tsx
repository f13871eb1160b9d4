/** The examples of a model, above the result: each is a link that fills the form and shows its output. */
import type { ExampleChoice } from "../../../services/models/examples.ts";
import { type KnownField, labelOf, pictureOf, wordsOf } from "../runs/label.ts";
import { Picture } from "../runs/picture.tsx";

interface Props {
  examples: ExampleChoice[];
  /** The playground's address. */
  address: string;
  /** The id of the one that is shown. */
  current: string | undefined;
  host: string;
  fields: KnownField[];
}

export const ExampleChoices = ({ examples, address, current, host, fields }: Props) =>
  examples.length === 0 ? null : (
    <nav class="run-row" aria-labelledby="examples" data-examples>
      <h2 id="examples">Examples</h2>
      <ol>
        {examples.map(({ id, input, output }, n) => (
          <li>
            <a href={`${address}?example=${id}`} aria-current={id === current ? "page" : undefined}>
              <Picture address={pictureOf(output, host)} />
              <span class="clamp run-label" dir="auto">
                {labelOf(input, fields) || `Example ${n + 1}`}
              </span>
              <Made words={wordsOf(output)} />
            </a>
          </li>
        ))}
      </ol>
    </nav>
  );

/** A link to the examples, which are below the form on narrow pages. */
export const ToExamples = ({ count }: { count: number }) =>
  count === 0 ? null : (
    <p class="to-examples">
      {"Or start from "}
      <a href="#examples">{count === 1 ? "an example" : `one of ${count} examples`}</a>
    </p>
  );

const Made = ({ words }: { words: string | undefined }) =>
  words === undefined ? null : (
    <span class="clip run-words" dir="auto">
      {words}
    </span>
  );
