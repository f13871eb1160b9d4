-- Search, by hand. What is searched for is typed, so a word is found by its first letters, and by
-- words that are spelt nearly like it; what is found comes in the order of its rank, from the index.
--
-- A model has five documents, one for each tier of its rank: exactly its name, its name, its owner,
-- its description, its overview. `fresh` is what a tier adds, `seen` all that is above it: a document
-- is asked for "matches, but not in `seen`", and so each model is found once, by its best tier.
-- The rowid is the rank: tier << 40 less seq, so tier by tier and in each of them the newest first.
-- Marks are characters of private use, which no word that is looked for has: U+E000 listed for all,
-- U+E001 its owner's alone, U+E002 an exact name, U+E003 a tier. detail=column: a word's places in an
-- overview are not kept. Of an overview the first 4,000 characters count: 100,000 cost 0.15 s to write,
-- and a user with 60 such models 10 s to rename. prefix: one without an index of its own would read all that it matches.
CREATE VIRTUAL TABLE models_words USING fts5 (seen, fresh, marks, content='', contentless_delete=1, detail=column,
	tokenize='unicode61 remove_diacritics 2', prefix='1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16');
--> statement-breakpoint
CREATE VIRTUAL TABLE users_words USING fts5 (seen, fresh, marks, content='', contentless_delete=1, detail=column,
	tokenize='unicode61 remove_diacritics 2', prefix='1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16');
--> statement-breakpoint
CREATE VIEW models_documents AS
WITH parts AS (
	SELECT models.id, owner_id, seq, models.name, description, substr(overview, 1, 4000) AS overview,
		(SELECT username FROM users WHERE users.id = owner_id) AS username,
		CASE visibility WHEN 'private' THEN char(0xE001) || replace(owner_id, '-', '') ELSE char(0xE000) END || ' ' || char(0xE003) AS marks
	FROM models
), named AS (
	SELECT *, char(0xE002) || hex(username || '/' || name) AS path, char(0xE002) || hex(name) AS exact FROM parts
)
SELECT id, owner_id, -seq AS rank, '' AS seen, exact || ' ' || path AS fresh, marks || 0 AS marks FROM named
UNION ALL SELECT id, owner_id, (1 << 40) - seq, exact || ' ' || path, name, marks || 1 FROM named
UNION ALL SELECT id, owner_id, (2 << 40) - seq, path || ' ' || name, username, marks || 2 FROM named
UNION ALL SELECT id, owner_id, (3 << 40) - seq, name || ' ' || username, description, marks || 3 FROM named
UNION ALL SELECT id, owner_id, (4 << 40) - seq, name || ' ' || username || ' ' || description, overview, marks || 4 FROM named;
--> statement-breakpoint
CREATE VIEW users_documents AS
SELECT id, -seq AS rank, '' AS seen, char(0xE002) || hex(username) AS fresh, char(0xE003) || 0 AS marks FROM users
UNION ALL SELECT id, (1 << 40) - seq, char(0xE002) || hex(username), username, char(0xE003) || 1 FROM users
UNION ALL SELECT id, (2 << 40) - seq, username, name, char(0xE003) || 2 FROM users
UNION ALL SELECT id, (3 << 40) - seq, username || ' ' || name, company, char(0xE003) || 3 FROM users;
--> statement-breakpoint
-- Every word that was ever in a document, by its trigrams: a word that is mistyped is looked up here.
-- An index of the overviews' own trigrams would be many times as large, and slow: all have "ing".
CREATE TABLE words (id INTEGER PRIMARY KEY, word TEXT NOT NULL UNIQUE);
--> statement-breakpoint
CREATE VIRTUAL TABLE words_trigrams USING fts5 (word, content='words', content_rowid='id', tokenize='trigram remove_diacritics 1');
--> statement-breakpoint
CREATE TRIGGER words_added AFTER INSERT ON words BEGIN
	INSERT INTO words_trigrams (rowid, word) VALUES (NEW.id, NEW.word);
END;
--> statement-breakpoint
-- What is inserted into `reading` is taken apart into words, as the index takes it apart.
CREATE VIRTUAL TABLE reading_index USING fts5 (text, content='', detail=none, tokenize='unicode61 remove_diacritics 2');
--> statement-breakpoint
CREATE VIRTUAL TABLE reading_words USING fts5vocab ('reading_index', 'row');
--> statement-breakpoint
CREATE VIEW reading AS SELECT '' AS text;
--> statement-breakpoint
CREATE TRIGGER reading_done INSTEAD OF INSERT ON reading BEGIN
	INSERT INTO reading_index (text) VALUES (NEW.text);
	INSERT INTO words (word) SELECT term FROM reading_words WHERE length(term) BETWEEN 3 AND 32 ON CONFLICT DO NOTHING;
	INSERT INTO reading_index (reading_index) VALUES ('delete-all');
END;
--> statement-breakpoint
UPDATE users SET seq = numbered.n
	FROM (SELECT id, row_number() OVER (ORDER BY created_at, id) AS n FROM users) AS numbered WHERE numbered.id = users.id;
--> statement-breakpoint
UPDATE models SET seq = numbered.n
	FROM (SELECT id, row_number() OVER (ORDER BY created_at, id) AS n FROM models) AS numbered WHERE numbered.id = models.id;
--> statement-breakpoint
INSERT INTO users_words (rowid, seen, fresh, marks) SELECT rank, seen, fresh, marks FROM users_documents;
--> statement-breakpoint
INSERT INTO models_words (rowid, seen, fresh, marks) SELECT rank, seen, fresh, marks FROM models_documents;
--> statement-breakpoint
INSERT INTO reading (text) SELECT username || ' ' || name || ' ' || company FROM users;
--> statement-breakpoint
INSERT INTO reading (text) SELECT name || ' ' || description || ' ' || substr(overview, 1, 4000) FROM models;
--> statement-breakpoint
CREATE TRIGGER users_indexed AFTER INSERT ON users BEGIN
	UPDATE users SET seq = (SELECT coalesce(max(seq), 0) + 1 FROM users) WHERE id = NEW.id;
	INSERT INTO users_words (rowid, seen, fresh, marks) SELECT rank, seen, fresh, marks FROM users_documents WHERE id = NEW.id;
	INSERT INTO reading (text) VALUES (NEW.username || ' ' || NEW.name || ' ' || NEW.company);
END;
--> statement-breakpoint
CREATE TRIGGER users_reindexed AFTER UPDATE OF username, name, company ON users
	WHEN (NEW.username, NEW.name, NEW.company) <> (OLD.username, OLD.name, OLD.company) BEGIN
	DELETE FROM users_words WHERE rowid IN (SELECT rank FROM users_documents WHERE id = NEW.id);
	INSERT INTO users_words (rowid, seen, fresh, marks) SELECT rank, seen, fresh, marks FROM users_documents WHERE id = NEW.id;
	INSERT INTO reading (text) VALUES (NEW.username || ' ' || NEW.name || ' ' || NEW.company);
END;
--> statement-breakpoint
CREATE TRIGGER users_renamed AFTER UPDATE OF username ON users WHEN NEW.username <> OLD.username BEGIN
	DELETE FROM models_words WHERE rowid IN (SELECT rank FROM models_documents WHERE owner_id = NEW.id);
	INSERT INTO models_words (rowid, seen, fresh, marks) SELECT rank, seen, fresh, marks FROM models_documents WHERE owner_id = NEW.id;
END;
--> statement-breakpoint
CREATE TRIGGER users_unindexed BEFORE DELETE ON users BEGIN
	DELETE FROM users_words WHERE rowid IN (SELECT rank FROM users_documents WHERE id = OLD.id);
END;
--> statement-breakpoint
CREATE TRIGGER models_indexed AFTER INSERT ON models BEGIN
	UPDATE models SET seq = (SELECT coalesce(max(seq), 0) + 1 FROM models) WHERE id = NEW.id;
	INSERT INTO models_words (rowid, seen, fresh, marks) SELECT rank, seen, fresh, marks FROM models_documents WHERE id = NEW.id;
	INSERT INTO reading (text) VALUES (NEW.name || ' ' || NEW.description || ' ' || substr(NEW.overview, 1, 4000));
END;
--> statement-breakpoint
CREATE TRIGGER models_reindexed AFTER UPDATE OF name, description, overview, visibility ON models
	WHEN (NEW.name, NEW.description, NEW.overview, NEW.visibility) <> (OLD.name, OLD.description, OLD.overview, OLD.visibility) BEGIN
	DELETE FROM models_words WHERE rowid IN (SELECT rank FROM models_documents WHERE id = NEW.id);
	INSERT INTO models_words (rowid, seen, fresh, marks) SELECT rank, seen, fresh, marks FROM models_documents WHERE id = NEW.id;
	INSERT INTO reading (text) VALUES (NEW.name || ' ' || NEW.description || ' ' || substr(NEW.overview, 1, 4000));
END;
--> statement-breakpoint
CREATE TRIGGER models_unindexed BEFORE DELETE ON models BEGIN
	DELETE FROM models_words WHERE rowid IN (SELECT rank FROM models_documents WHERE id = OLD.id);
END;
