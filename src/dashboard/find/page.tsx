/** Search over everything. With client code the same list stands in a dialog (client/find.ts). */
import { Form } from "../ui/layout.tsx";
import { MAX_QUERY } from "./found.ts";
import type { Group, Item } from "./group.ts";

export const FindPage = ({ query, groups }: { query: string; groups: Group[] }) => (
  <>
    <h1>Find</h1>
    <search>
      <form method="get" action="/find" class="filter-bar">
        <input
          name="q"
          type="search"
          value={query}
          maxlength={MAX_QUERY}
          aria-label="Find"
          placeholder="A page, an action, a model, the ID of a prediction"
        />
        <button type="submit" class="quiet">
          Find
        </button>
      </form>
    </search>
    <div class="finds" data-found>
      {groups.length === 0 ? (
        <p>
          Nothing is called that. Models are found by the beginning of a word, predictions by their
          ID, or at least 8 characters of its beginning or end.
        </p>
      ) : (
        groups.map((group) => <Found {...group} />)
      )}
    </div>
  </>
);

const Found = ({ name, items }: Group) => (
  <section>
    <h2>{name}</h2>
    <ul>
      {items.map((item) => (
        <li>
          {item.isPost ? (
            <Form action={item.address}>
              <button type="submit">
                <Name {...item} />
              </button>
            </Form>
          ) : (
            <a href={item.address}>
              <Name {...item} />
            </a>
          )}
        </li>
      ))}
    </ul>
  </section>
);

const Name = ({ name, hint }: Item) => (
  <>
    <bdi>{name}</bdi>
    {hint && (
      <small>
        <bdi>{hint}</bdi>
      </small>
    )}
  </>
);
