/** The frame of each page of the documentation. It is the same for everyone: no session is read. */
import type { Child, PropsWithChildren } from "hono/jsx";
import type { Manifest } from "../../protocol/assets.ts";
import { Head, Scripts } from "../ui/head.tsx";
import { Bird } from "../ui/icon.tsx";
import { DOCS, type Entry, NAVIGATION, SEARCH } from "./contents.ts";
import { MAX_QUERY } from "./search/find.ts";

interface Props {
  title: string;
  description: string;
  path: string;
  assets: Manifest;
  query?: string;
  scripts?: string[];
  /** Links to the parts of the page, below its name in the list of pages. */
  contents?: Child;
}

export const DocsLayout = ({
  title,
  description,
  path,
  assets,
  query = "",
  contents,
  scripts = [],
  children,
}: PropsWithChildren<Props>) => (
  <html lang="en">
    <head>
      <Head title={title} assets={assets} style="docs.css" />
      <meta name="description" content={description} />
    </head>
    <body>
      <a class="skip" href="#main">
        Skip to content
      </a>
      <header class="bar spread">
        <p class="bar title">
          <a class="brand" href="/">
            <Bird assets={assets} />
            Auspex
          </a>{" "}
          <a href={DOCS}>Docs</a>
        </p>
        <p>
          <a href="/">Dashboard</a>
        </p>
      </header>
      <div class="columns">
        <div class="sidebar">
          <search>
            <form action={SEARCH} class="below">
              <input
                type="search"
                name="q"
                value={query}
                maxlength={MAX_QUERY}
                placeholder="Search the docs"
                aria-label="Search the docs"
                required
              />
            </form>
          </search>
          <Pages path={path} contents={contents} />
        </div>
        <main id="main" tabindex={-1}>
          {children}
        </main>
      </div>
      <Scripts assets={assets} names={scripts} />
    </body>
  </html>
);

/** Folded on narrow screens. A part without the page is folded, so that the contents of a page are in sight. */
const Pages = ({ path, contents }: Pick<Props, "path" | "contents">) => (
  <nav aria-label="Documentation" class="pages">
    <details class="box fold">
      <summary class="strong">Guides and reference</summary>
      {NAVIGATION.map(({ title, pages }, _, all) => (
        <details open={isIn(pages, path) || !all.some((part) => isIn(part.pages, path))}>
          <summary class="strong">{title}</summary>
          <ul>
            {pages.map(([address, label]) => (
              <li>
                <a href={address} aria-current={address === path ? "page" : undefined}>
                  {label}
                </a>
                {address === path && contents}
              </li>
            ))}
          </ul>
        </details>
      ))}
    </details>
  </nav>
);

/** The pages before and after this one. */
export function Neighbors({ path }: { path: string }) {
  const pages = NAVIGATION.flatMap((group) => group.pages);
  const index = pages.findIndex(([address]) => address === path);
  const previous = pages[index - 1];
  const next = pages[index + 1];
  return (
    <nav aria-label="Previous and next" class="bar spread neighbors">
      {previous && (
        <a href={previous[0]} rel="prev">
          ← {previous[1]}
        </a>
      )}
      {next && (
        <a href={next[0]} rel="next">
          {next[1]} →
        </a>
      )}
    </nav>
  );
}

const isIn = (pages: Entry[], path: string) => pages.some(([address]) => address === path);
