/** Small components that many pages share. */

import type { Child, PropsWithChildren } from "hono/jsx";
import { useRequestContext } from "hono/jsx-renderer";
import { priceText } from "../../domain/money/price.ts";
import type { TaskStatus } from "../../protocol/prediction.ts";
import type { Dashboard } from "../context.ts";
import { type CodeLanguage, codePieces } from "./highlight.ts";

/** An empty state: says what to do next. */
export const Empty = ({ title, children }: PropsWithChildren<{ title: string }>) => (
  <div class="box empty">
    <h2>{title}</h2>
    {children}
  </div>
);

export const Above = ({ places }: { places: (readonly [address: string, name: string])[] }) => (
  <nav class="small" aria-label="Above this page">
    {places.map(([address, name], n) => (
      <>
        {n > 0 && " / "}
        <a href={address}>{name}</a>
      </>
    ))}
  </nav>
);

export const ALL_PREDICTIONS = ["/predictions", "Predictions"] as const;

/** The end of an id: UUIDv7 begins with the time, which neighbors share. */
export const shortId = (id: string) => `…${id.slice(-12)}`;

export const linkToPrediction = (id: string) => [`/predictions/${id}`, shortId(id)] as const;

/** @param previous URL of the API list page, of which path and query are used */
export const Pager = ({ previous, next }: { previous: string | null; next: string | null }) =>
  previous === null && next === null ? null : (
    <nav class="bar spread spaced pager" aria-label="Pages">
      {previous === null ? (
        <span />
      ) : (
        <a href={pageAddress(previous)} rel="prev">
          ← Previous
        </a>
      )}
      {next === null ? (
        <span />
      ) : (
        <a href={pageAddress(next)} rel="next">
          Next →
        </a>
      )}
    </nav>
  );

const pageAddress = (url: string) => {
  const { pathname, search } = new URL(url);
  return pathname + search;
};

/** @param waitsAgain in lists: the prediction's own page says more */
export const Status = ({
  status,
  waitsAgain = false,
}: {
  status: TaskStatus;
  waitsAgain?: boolean;
}) => (
  <>
    <span class={`status ${status}`}>{status}</span>
    {waitsAgain && <small> requeued</small>}
  </>
);

/**
 * Rendered in UTC. Client code makes it relative, and its title the reader's own time.
 * @param exact shown in full, with seconds
 */
export function Time({ at, exact = false }: { at: string | number; exact?: boolean }) {
  const iso = new Date(at).toISOString();
  return (
    <time datetime={iso} title={iso} data-exact={exact ? "" : undefined}>
      {`${iso.slice(0, 10)} ${iso.slice(11, exact ? 19 : 16)} UTC`}
    </time>
  );
}

/** The last column of a list: the end of an ID, with a button that copies all of it. */
export const IdCell = ({ id }: { id: string }) => (
  <td class="id-cell" data-label="ID">
    <code title={id}>{shortId(id)}</code>{" "}
    <button type="button" class="plain" data-copy={id} aria-label={`Copy ID ${id}`} hidden>
      Copy
    </button>
  </td>
);

/** Text with a copy button, which client code reveals. */
export const Copy = ({
  text,
  label = "Copy",
  lines = false,
  language,
}: {
  text: string;
  label?: string;
  lines?: boolean;
  /** The language whose parts are coloured. Undefined: none. */
  language?: CodeLanguage;
}) => (
  <div class={lines ? "copy lines" : "copy"}>
    <pre tabindex={0}>
      <code data-code={language}>
        {language ? <Coloured code={text} language={language} /> : text}
      </code>
    </pre>
    <button type="button" class="quiet" data-copy="" hidden>
      {label}
    </button>
  </div>
);

export const Coloured = ({ code, language }: { code: string; language: CodeLanguage }) => (
  <>
    {codePieces(code, language).map(({ kind, text }) =>
      kind ? <span class={`code-${kind}`}>{text}</span> : text,
    )}
  </>
);

export const Tabs = ({
  label,
  current,
  tabs,
}: {
  label: string;
  current: string;
  tabs: (readonly [address: string, name: string])[];
}) => (
  <nav class="tabs" aria-label={label}>
    {tabs.map(([address, name]) => (
      <a href={address} aria-current={address === current ? "page" : undefined}>
        {name}
      </a>
    ))}
  </nav>
);

export const useCurrency = (): string =>
  useRequestContext<Dashboard>().var.services.settings.currency;

export const Price = ({ value }: { value: number }) => <>{priceText(value, useCurrency())}</>;

/** An entry of a description list. */
export const Fact = ({
  name,
  title,
  children,
}: {
  name: string;
  title?: string;
  children?: Child;
}) => (
  <div title={title}>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
);
