//! The analyser as tantivy sees it.

use tantivy::tokenizer::{Token, TokenStream, Tokenizer};

use super::{Lexeme, analyse};

/// The name under which the schema's fields ask for [`CodeTokenizer`].
pub const TOKENIZER_NAME: &str = "code";

/// [`analyse`] behind tantivy's trait.
#[derive(Debug, Clone, Copy, Default)]
pub struct CodeTokenizer;

/// The terms of one text.
#[derive(Debug)]
pub struct Terms {
    rest: std::vec::IntoIter<Lexeme>,
    token: Token,
}

impl Tokenizer for CodeTokenizer {
    type TokenStream<'a> = Terms;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> Terms {
        Terms { rest: analyse(text).into_iter(), token: Token::default() }
    }
}

impl TokenStream for Terms {
    fn advance(&mut self) -> bool {
        let Some(lexeme) = self.rest.next() else { return false };
        self.token = Token {
            offset_from: lexeme.span.0,
            offset_to: lexeme.span.1,
            position: lexeme.position,
            text: lexeme.text,
            position_length: 1,
        };
        true
    }

    fn token(&self) -> &Token {
        &self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.token
    }
}
