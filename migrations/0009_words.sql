-- Words that search forgives typing errors by, each counted by the models and users that have it: it goes
-- with the last of them. Those of private models are their owner's alone. An id says whose a word is, the
-- owner's seq << 40 and a number, 0 for everybody: nobody's question reaches another's range of ids.
DROP TRIGGER users_indexed;
--> statement-breakpoint
DROP TRIGGER users_reindexed;
--> statement-breakpoint
DROP TRIGGER users_unindexed;
--> statement-breakpoint
DROP TRIGGER models_indexed;
--> statement-breakpoint
DROP TRIGGER models_reindexed;
--> statement-breakpoint
DROP TRIGGER models_unindexed;
--> statement-breakpoint
DROP TRIGGER reading_done;
--> statement-breakpoint
DROP VIEW reading;
--> statement-breakpoint
DROP TRIGGER words_added;
--> statement-breakpoint
DROP TABLE words_trigrams;
--> statement-breakpoint
DROP TABLE words;
--> statement-breakpoint
CREATE TABLE words (id INTEGER PRIMARY KEY, owner INTEGER NOT NULL, word TEXT NOT NULL, uses INTEGER NOT NULL, UNIQUE (owner, word));
--> statement-breakpoint
CREATE VIRTUAL TABLE words_trigrams USING fts5 (word, content='words', content_rowid='id', tokenize='trigram remove_diacritics 1');
--> statement-breakpoint
CREATE TRIGGER words_added AFTER INSERT ON words BEGIN
	INSERT INTO words_trigrams (rowid, word) VALUES (NEW.id, NEW.word);
END;
--> statement-breakpoint
CREATE TRIGGER words_removed AFTER DELETE ON words BEGIN
	INSERT INTO words_trigrams (words_trigrams, rowid, word) VALUES ('delete', OLD.id, OLD.word);
END;
--> statement-breakpoint
-- What is inserted into `reading` is taken apart into words, as the index takes it apart, and `uses` is
-- added to each: 1 for a text that is there from now on, -1 for one that goes.
CREATE VIEW reading AS SELECT '' AS text, 0 AS owner, 0 AS uses;
--> statement-breakpoint
CREATE TRIGGER reading_done INSTEAD OF INSERT ON reading BEGIN
	INSERT INTO reading_index (text) VALUES (NEW.text);
	INSERT INTO words (id, owner, word, uses)
		SELECT coalesce((SELECT max(id) FROM words WHERE id BETWEEN NEW.owner << 40 AND (NEW.owner + 1 << 40) - 1), NEW.owner << 40)
			+ row_number() OVER (), NEW.owner, term, 0
		FROM reading_words WHERE length(term) BETWEEN 3 AND 32
			AND NOT EXISTS (SELECT 1 FROM words WHERE owner = NEW.owner AND word = term);
	UPDATE words SET uses = uses + NEW.uses WHERE owner = NEW.owner AND word IN (SELECT term FROM reading_words);
	DELETE FROM words WHERE owner = NEW.owner AND uses <= 0 AND word IN (SELECT term FROM reading_words);
	INSERT INTO reading_index (reading_index) VALUES ('delete-all');
END;
--> statement-breakpoint
-- What of a model and of a user is read, and by whom it may be found.
CREATE VIEW models_texts AS
SELECT id, owner_id, name || ' ' || description || ' ' || substr(overview, 1, 4000) AS text,
	CASE visibility WHEN 'private' THEN (SELECT seq FROM users WHERE users.id = owner_id) ELSE 0 END AS owner FROM models;
--> statement-breakpoint
CREATE VIEW users_texts AS SELECT id, username || ' ' || name || ' ' || company AS text, 0 AS owner FROM users;
--> statement-breakpoint
INSERT INTO reading (text, owner, uses) SELECT text, owner, 1 FROM users_texts;
--> statement-breakpoint
INSERT INTO reading (text, owner, uses) SELECT text, owner, 1 FROM models_texts;
--> statement-breakpoint
CREATE TRIGGER users_indexed AFTER INSERT ON users BEGIN
	UPDATE users SET seq = (SELECT coalesce(max(seq), 0) + 1 FROM users) WHERE id = NEW.id;
	INSERT INTO users_words (rowid, seen, fresh, marks) SELECT rank, seen, fresh, marks FROM users_documents WHERE id = NEW.id;
	INSERT INTO reading (text, owner, uses) SELECT text, owner, 1 FROM users_texts WHERE id = NEW.id;
END;
--> statement-breakpoint
-- Before: what it was is there to be read once more.
CREATE TRIGGER users_unread BEFORE UPDATE OF username, name, company ON users
	WHEN (NEW.username, NEW.name, NEW.company) <> (OLD.username, OLD.name, OLD.company) BEGIN
	INSERT INTO reading (text, owner, uses) SELECT text, owner, -1 FROM users_texts WHERE id = OLD.id;
END;
--> statement-breakpoint
CREATE TRIGGER users_reindexed AFTER UPDATE OF username, name, company ON users
	WHEN (NEW.username, NEW.name, NEW.company) <> (OLD.username, OLD.name, OLD.company) BEGIN
	DELETE FROM users_words WHERE rowid IN (SELECT rank FROM users_documents WHERE id = NEW.id);
	INSERT INTO users_words (rowid, seen, fresh, marks) SELECT rank, seen, fresh, marks FROM users_documents WHERE id = NEW.id;
	INSERT INTO reading (text, owner, uses) SELECT text, owner, 1 FROM users_texts WHERE id = NEW.id;
END;
--> statement-breakpoint
CREATE TRIGGER users_unindexed BEFORE DELETE ON users BEGIN
	DELETE FROM users_words WHERE rowid IN (SELECT rank FROM users_documents WHERE id = OLD.id);
	INSERT INTO reading (text, owner, uses) SELECT text, owner, -1 FROM users_texts WHERE id = OLD.id;
END;
--> statement-breakpoint
CREATE TRIGGER models_indexed AFTER INSERT ON models BEGIN
	UPDATE models SET seq = (SELECT coalesce(max(seq), 0) + 1 FROM models) WHERE id = NEW.id;
	INSERT INTO models_words (rowid, seen, fresh, marks) SELECT rank, seen, fresh, marks FROM models_documents WHERE id = NEW.id;
	INSERT INTO reading (text, owner, uses) SELECT text, owner, 1 FROM models_texts WHERE id = NEW.id;
END;
--> statement-breakpoint
CREATE TRIGGER models_unread BEFORE UPDATE OF name, description, overview, visibility ON models
	WHEN (NEW.name, NEW.description, NEW.overview, NEW.visibility) <> (OLD.name, OLD.description, OLD.overview, OLD.visibility) BEGIN
	INSERT INTO reading (text, owner, uses) SELECT text, owner, -1 FROM models_texts WHERE id = OLD.id;
END;
--> statement-breakpoint
CREATE TRIGGER models_reindexed AFTER UPDATE OF name, description, overview, visibility ON models
	WHEN (NEW.name, NEW.description, NEW.overview, NEW.visibility) <> (OLD.name, OLD.description, OLD.overview, OLD.visibility) BEGIN
	DELETE FROM models_words WHERE rowid IN (SELECT rank FROM models_documents WHERE id = NEW.id);
	INSERT INTO models_words (rowid, seen, fresh, marks) SELECT rank, seen, fresh, marks FROM models_documents WHERE id = NEW.id;
	INSERT INTO reading (text, owner, uses) SELECT text, owner, 1 FROM models_texts WHERE id = NEW.id;
END;
--> statement-breakpoint
CREATE TRIGGER models_unindexed BEFORE DELETE ON models BEGIN
	DELETE FROM models_words WHERE rowid IN (SELECT rank FROM models_documents WHERE id = OLD.id);
	INSERT INTO reading (text, owner, uses) SELECT text, owner, -1 FROM models_texts WHERE id = OLD.id;
END;
