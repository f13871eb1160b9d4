/** The frame of each page of the documentation. It is the same for everyone: no session is read. */
import type { Child, PropsWithChildren } from "hono/jsx";
import type { Manifest } from "../../protocol/assets.ts";
import { Head, Scripts } from "../ui/head.tsx";
import { Bird } from "../ui/icon.tsx";
import { NAVIGATION, REFERENCE, SEARCH } from "./contents.ts";
import { MAX_QUERY } from "./search/find.ts";

interface Props {
  title: string;
  description: string;
  path: string;
  assets: Manifest;
  query?: string;
  scripts?: string[];
  /** More navigation, below the list of pages. */
  navigation?: Child;
}

export const DocsLayout = ({
  title,
  description,
  path,
  assets,
  query = "",
  navigation,
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
          <a href={REFERENCE}>Docs</a>
        </p>
        <p>
          <a href="/">Dashboard</a>
        </p>
      </header>
      <div class="columns">
        <div class="sidebar">
          <search>
            <form action={SEARCH} class="search">
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
          <Pages path={path} />
          {navigation}
        </div>
        <main id="main" tabindex={-1}>
          {children}
        </main>
      </div>
      <Scripts assets={assets} names={scripts} />
    </body>
  </html>
);

/** Folded on narrow screens. */
const Pages = ({ path }: { path: string }) => (
  <nav aria-label="Documentation" class="pages">
    <details class="box fold">
      <summary class="strong">Guides and reference</summary>
      <ul>
        {NAVIGATION.map(({ title, pages }) => (
          <li>
            <span class="strong">{title}</span>
            <ul>
              {pages.map(([address, label]) => (
                <li>
                  <a href={address} aria-current={address === path ? "page" : undefined}>
                    {label}
                  </a>
                </li>
              ))}
            </ul>
          </li>
        ))}
      </ul>
    </details>
  </nav>
);
