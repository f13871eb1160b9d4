-- A model gives the vocabulary the words of its first 1,000 characters: each word is three rows and more, and an
-- overview of 4,000 characters wrote 4,933. A change writes only the words that it adds or removes.
DROP TRIGGER models_unread;
--> statement-breakpoint
DROP TRIGGER models_reindexed;
--> statement-breakpoint
DROP TRIGGER users_unread;
--> statement-breakpoint
DROP TRIGGER users_reindexed;
--> statement-breakpoint
DROP TRIGGER reading_done;
--> statement-breakpoint
DROP VIEW models_texts;
--> statement-breakpoint
CREATE VIEW models_texts AS
SELECT id, owner_id, substr(name || ' ' || description || ' ' || overview, 1, 1000) AS text,
	CASE visibility WHEN 'private' THEN (SELECT seq FROM users WHERE users.id = owner_id) ELSE 0 END AS owner FROM models;
--> statement-breakpoint
CREATE TRIGGER reading_done INSTEAD OF INSERT ON reading BEGIN
	INSERT INTO reading_index (text) VALUES (NEW.text);
	INSERT INTO words (id, owner, word, uses)
		SELECT coalesce((SELECT max(id) FROM words WHERE id BETWEEN NEW.owner << 40 AND (NEW.owner + 1 << 40) - 1), NEW.owner << 40)
			+ row_number() OVER (), NEW.owner, term, NEW.uses
		FROM reading_words WHERE length(term) BETWEEN 3 AND 32
		ON CONFLICT (owner, word) DO UPDATE SET uses = uses + excluded.uses;
	DELETE FROM words WHERE owner = NEW.owner AND uses <= 0 AND word IN (SELECT term FROM reading_words);
	INSERT INTO reading_index (reading_index) VALUES ('delete-all');
END;
--> statement-breakpoint
-- The new text is read before the old one: a word of both is then neither removed nor added.
CREATE TRIGGER users_reindexed AFTER UPDATE OF username, name, company ON users
	WHEN (NEW.username, NEW.name, NEW.company) <> (OLD.username, OLD.name, OLD.company) BEGIN
	DELETE FROM users_words WHERE rowid IN (SELECT rank FROM users_documents WHERE id = NEW.id);
	INSERT INTO users_words (rowid, seen, fresh, marks) SELECT rank, seen, fresh, marks FROM users_documents WHERE id = NEW.id;
	INSERT INTO reading (text, owner, uses) SELECT text, owner, 1 FROM users_texts WHERE id = NEW.id;
	INSERT INTO reading (text, owner, uses) VALUES (OLD.username || ' ' || OLD.name || ' ' || OLD.company, 0, -1);
END;
--> statement-breakpoint
CREATE TRIGGER models_reindexed AFTER UPDATE OF name, description, overview, visibility ON models
	WHEN (NEW.name, NEW.description, NEW.overview, NEW.visibility) <> (OLD.name, OLD.description, OLD.overview, OLD.visibility) BEGIN
	DELETE FROM models_words WHERE rowid IN (SELECT rank FROM models_documents WHERE id = NEW.id);
	INSERT INTO models_words (rowid, seen, fresh, marks) SELECT rank, seen, fresh, marks FROM models_documents WHERE id = NEW.id;
	INSERT INTO reading (text, owner, uses) SELECT text, owner, 1 FROM models_texts WHERE id = NEW.id;
	INSERT INTO reading (text, owner, uses)
		SELECT substr(OLD.name || ' ' || OLD.description || ' ' || OLD.overview, 1, 1000),
			CASE OLD.visibility WHEN 'private' THEN (SELECT seq FROM users WHERE id = OLD.owner_id) ELSE 0 END, -1;
END;
